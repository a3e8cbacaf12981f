"""Archives as a hostile or careless sender makes them, member by member."""
import io
import tarfile


def member(name, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def directory(name, mode=0o755):
    return member(name, type=tarfile.DIRTYPE, mode=mode)


def symlink(name, target):
    return member(name, type=tarfile.SYMTYPE, linkname=target)


def hardlink(name, target):
    return member(name, type=tarfile.LNKTYPE, linkname=target)


def device(name, kind=tarfile.CHRTYPE):
    return member(name, type=kind, devmajor=1, devminor=3)


def archive(*members, form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data) if data else None)
    return out.getvalue()


def contents(data):
    """name -> TarInfo, and the bytes of regular files."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        infos = {info.name: info for info in tar.getmembers()}
        return infos, {name: tar.extractfile(info).read()
                       for name, info in infos.items() if info.isfile() or info.islnk()}
