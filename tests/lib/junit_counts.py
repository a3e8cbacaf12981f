"""Prints "passed failed skipped" of a JUnit XML file, for tests/run. A missing or empty file
is one failure: a suite that did not run must not look green."""
import sys
import xml.etree.ElementTree as ElementTree


def counts(path):
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return 0, 1, 0
    cases = list(root.iter("testcase"))
    failed = sum(1 for case in cases
                 if case.find("failure") is not None or case.find("error") is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None)
    passed = len(cases) - failed - skipped
    return (passed, failed, skipped) if cases else (0, 1, 0)


if __name__ == "__main__":
    print(*counts(sys.argv[1]))
