"""What is wrong with a message whatever it asks for: text that no database takes, fields that the contract wants."""

from __future__ import annotations

from functools import cache

from google.api import field_behavior_pb2  # type: ignore[import-untyped]  # has no stubs
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from arbiter.errors import UsageError


def check_message(message: Message) -> None:
    """Return when a caller's message is whole.

    A field is missing when the contract calls it required (https://google.aip.dev/203) and it has its type's default,
    an empty text or 0, which stands for nothing in all of them.

    Raises:
        UsageError: a field is missing, or holds the one character that text in a message may have, and in a database
            may not.
    """
    for name in required_fields(message.DESCRIPTOR):
        if not getattr(message, name):
            raise UsageError(f"{name}: is missing; this call needs it")
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_STRING:
            texts = [value] if isinstance(value, str) else value
            if any("\0" in text for text in texts):
                raise UsageError(f"{field.name}: holds the character NUL; leave it out")
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            parts = [value] if isinstance(value, Message) else value
            for part in parts:
                check_message(part)


@cache
def required_fields(descriptor: Descriptor) -> tuple[str, ...]:
    """Names of the fields of a message that the contract calls required."""
    extension = field_behavior_pb2.field_behavior
    required = field_behavior_pb2.REQUIRED
    return tuple(field.name for field in descriptor.fields if required in field.GetOptions().Extensions[extension])
