# Shared by the scripts in deploy/: numbered steps with times, results, one way to fail.
# Source it; it sets no options and changes no directory.

started=$SECONDS
step_number=0
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	bold=$'\033[1m' red=$'\033[31m' green=$'\033[32m' plain=$'\033[0m'
else
	bold='' red='' green='' plain=''
fi

step() { # text
	step_number=$((step_number + 1))
	printf '\n%s[%d] %s%s  (%d s)\n' "$bold" "$step_number" "$1" "$plain" $((SECONDS - started))
}
note() { printf '    %s\n' "$1"; }
ok() { printf '    %sok%s      %s\n' "$green" "$plain" "$1"; }
bad() { printf '    %sNOT OK%s  %s\n' "$red" "$plain" "$1"; }
fail() { # text
	printf '%s: %s\n' "$(basename "$0")" "$1" >&2
	exit 1
}
indent() { sed 's/^/    | /'; }
