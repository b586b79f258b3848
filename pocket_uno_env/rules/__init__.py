"""The rules as data: cards, actions, phases, and `Rules` with all decisions."""

from .rules import HOUSE_RULES, PRESETS, Rules, RulesError

__all__ = ["HOUSE_RULES", "PRESETS", "Rules", "RulesError"]
