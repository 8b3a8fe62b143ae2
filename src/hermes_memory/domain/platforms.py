"""Messaging platforms and kinds of chats, by the words that keys use for them."""

from __future__ import annotations

from typing import Final

from hermes_memory.domain.names import fold_name

PLATFORMS: Final = frozenset(
    {
        "bluebubbles",
        "bluesky",
        "dingtalk",
        "discord",
        "email",
        "facebook",
        "feishu",
        "google_chat",
        "imessage",
        "instagram",
        "irc",
        "kakao",
        "kakaotalk",
        "lark",
        "line",
        "mastodon",
        "matrix",
        "mattermost",
        "messenger",
        "mms",
        "msgraph_webhook",
        "nostr",
        "phone",
        "photon",
        "qq",
        "qqbot",
        "rcs",
        "rocketchat",
        "signal",
        "simplex",
        "skype",
        "slack",
        "sms",
        "teams",
        "telegram",
        "threema",
        "twilio",
        "twitter",
        "viber",
        "webex",
        "wechat",
        "wecom",
        "wecom_callback",
        "weixin",
        "whatsapp",
        "whatsapp_cloud",
        "xmpp",
        "yuanbao",
        "zalo",
        "zulip",
    }
)
"""Where persons and groups are met. A word that is missing here is still found by the other shapes of a key."""

EVERYDAY_WORDS: Final = frozenset({"line", "photon", "signal"})
"""Platforms whose name is also a word people give to themes: a short number after it says nothing."""

PHONE_PLATFORMS: Final = frozenset(
    {"bluebubbles", "imessage", "mms", "phone", "rcs", "signal", "sms", "twilio", "viber", "whatsapp", "whatsapp_cloud"}
)
"""Platforms on which a contact's number is a telephone number, so that its separators mean nothing."""

PRIVATE_CHATS: Final = frozenset(
    {"1on1", "c2c", "direct", "direct_message", "dm", "friend", "im", "personal", "pm", "private"}
)
GROUP_CHATS: Final = frozenset(
    {
        "broadcast",
        "channel",
        "chatroom",
        "community",
        "conference",
        "forum",
        "group",
        "groupchat",
        "guild",
        "mpim",
        "newsletter",
        "room",
        "server",
        "space",
        "stage",
        "supergroup",
        "thread",
        "topic",
        "webhook",
    }
)

_ALIASES: Final = {
    "callto": "phone",
    "google-chat": "google_chat",
    "googlechat": "google_chat",
    "jabber": "xmpp",
    "mail": "email",
    "mailto": "email",
    "mobile": "phone",
    "msteams": "teams",
    "tel": "phone",
    "whatsapp-cloud": "whatsapp_cloud",
}


def platform_name(platform: str) -> str:
    """Return the one name of a platform."""
    return name_in_key(fold_name(platform))


def name_in_key(part: str) -> str:
    """Return the one name of the platform that a part of a folded key may spell."""
    word = part.strip()
    return _ALIASES.get(word, word)
