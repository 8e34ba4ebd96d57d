"""A bot at the other end: a caged process, or one in this process. Messages go through; what they mean is not known
here."""

from arbiter.links.host import BotHost
from arbiter.links.link import ENDING_FAULTS, Ending, FaultCode, Link, LinkLost
from arbiter.links.local import LocalLink
from arbiter.links.process import ProcessLink

__all__ = ["ENDING_FAULTS", "BotHost", "Ending", "FaultCode", "Link", "LinkLost", "LocalLink", "ProcessLink"]
