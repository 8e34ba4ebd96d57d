"""Bot packages: what contestants send, how it is checked, unpacked, kept as versions, and built.

`pack` is the contestant's side, in the base install; `unpacked` the service's; `FileVersions` keeps versions,
`Builder` builds them, `BotCache` is a worker's. What is accepted is described in docs/submissions.md.
"""

from arbiter.packages.build import BuildEnd, Builder, BuildLimits, BuildResult
from arbiter.packages.cache import BotCache
from arbiter.packages.limits import PackageError, PackageLimits
from arbiter.packages.packing import Packed, pack
from arbiter.packages.removal import last_changed, remove
from arbiter.packages.staging import StagingError
from arbiter.packages.transfer import FileHeader, Receiver, TransferError, parts_of_version
from arbiter.packages.unpacking import Contents, Unpacked, inspect, unpacked, unpacked_files
from arbiter.packages.versions import FileVersions, ForeignContents, VersionMissing, Versions

__all__ = [
    "BotCache",
    "BuildEnd",
    "BuildLimits",
    "BuildResult",
    "Builder",
    "Contents",
    "FileHeader",
    "FileVersions",
    "ForeignContents",
    "PackageError",
    "PackageLimits",
    "Packed",
    "Receiver",
    "StagingError",
    "TransferError",
    "Unpacked",
    "VersionMissing",
    "Versions",
    "inspect",
    "last_changed",
    "pack",
    "parts_of_version",
    "remove",
    "unpacked",
    "unpacked_files",
]
