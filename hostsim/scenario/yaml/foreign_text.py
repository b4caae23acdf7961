"""Text files of other programs: encoding, lines, and recognition of unusable formats."""

from __future__ import annotations

import codecs
import re
import unicodedata

__all__ = ["decoded", "format_of", "has_controls", "lines_of"]

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(rb'^\s*\.encoding\s*=\s*"?([\w.:-]{1,40})"?\s*$', re.IGNORECASE | re.MULTILINE)
"""The line of a ``.vmx`` file that names its encoding."""
_SPELLINGS = ((r"^windows-31j$", "cp932"), (r"^windows-", "cp"), (r"^x-mac-", "mac"))
"""Names of encodings with another spelling in Python."""
_PLAIN = b'memSize = "\\x41+AGE-"\xe9'
"""Letters that an encoding must preserve so that keys are found, and one more byte."""
_HEAD = 4096
"""Number of bytes searched for that line."""
_FORMATS = (
    (r'"?\(PDH-CSV', "the output of `esxtop -b`"),
    (r'\{\s*"sysinfo"', "the output of `net-stats -A`"),
    (r"<\?xml[^>]*>\s*<(?:ovf:)?Envelope|<(?:ovf:)?Envelope", "an OVF descriptor"),
    (r"<\?xml|<[A-Za-z!]", "XML"),
    (r"\{\\rtf", "RTF"),
    (r"PK\x03\x04|\x7fELF|\x1f\x8b", "a binary file"),
    (r"# Disk DescriptorFile", "a disk descriptor (.vmdk)"),
    (r"(?:.*[#$>] *)?esxcli +system +settings +advanced +set\b", "a command that sets a setting"),
    (r"(?:.*[#$>] *)?(?:esxcli|vsish|esxcfg-\w+|net-stats) ", "a command"),
    (r"Name +PCI", "the output of `esxcli network nic list`"),
    (r"\s*NIC statistics for", "the output of `esxcli network nic stats get`"),
    (r"\s*Advertised Auto Negotiation", "the output of `esxcli network nic get`"),
    (r"Name +Type +(?:Configured|Description|Runtime|Default)", "the output of `esxcli system settings kernel list`"),
    (r".*\{\s*$\s*(?:\w+:|stats of)", "the output of `vsish`"),
    (r"\s*Path: /", "the output of `esxcli system settings advanced list`"),
    (r'\s*[\w.:]+ *= *"[^"]*"\s*$', "a .vmx file"),
    (r"frame\.time|\s*\d+\s+\d+\.\d+\s+\S+ (?:→|->) ", "the output of `tshark`"),
    (r"[\[{]", "JSON"),
    (r"#TYPE .*\s", "CSV of PowerShell"),
    (r"\S.*\n *-{3,}[ -]*$", "a table"),
    (r'"?[\w .]+"?(?:,"?[^",\n]*"?){2,}\s*$', "CSV"),
    (r"\w[\w-]*:(?: .*)?$", "YAML"),
)
"""Beginnings of texts in other formats, the more specific ones first."""


def decoded(data: bytes) -> str:
    """The text of a file, in the encoding of its byte order mark or its line ``.encoding``, else UTF-8.

    Invalid bytes become U+FFFD: relevant names and values do not contain any, and other text, such as notes, is
    ignored.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if data[1:2] == b"\0" and data[:1] != b"\0":
        return data.decode("utf-16-le", "replace")
    if data[:1] == b"\0" and data[1:2] != b"\0":
        return data.decode("utf-16-be", "replace")
    declared = _DECLARED.search(data[:_HEAD])
    return data.decode(_codec(declared[1].decode("ascii")) if declared is not None else "utf-8", "replace")


def _codec(name: str) -> str:
    """The codec of an encoding as spelt by products; UTF-8 if it is unknown or changes ASCII letters."""
    for spelling, codec in _SPELLINGS:
        spelled = re.sub(spelling, codec, name, flags=re.IGNORECASE)
        try:
            if _PLAIN.decode(spelled, "replace").startswith(_PLAIN[:-1].decode("ascii")):
                return spelled
        except (LookupError, ValueError):
            continue
    return "utf-8"


def lines_of(text: str) -> list[str]:
    """The lines of a text, split only at the line ends of Unix, Windows and old Macs."""
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[:-1] if lines[-1] == "" else lines


def has_controls(line: str) -> bool:
    """True if a line contains a control character other than a tab."""
    return not line.isprintable() and any(unicodedata.category(c) == "Cc" and c != "\t" for c in line)


def format_of(text: str) -> str:
    """The format of a text by its beginning, in words; empty if unknown."""
    start = text.lstrip()[:_HEAD]
    return next((name for pattern, name in _FORMATS if re.match(pattern, start, re.MULTILINE)), "")
