from crash_stories import folder

__all__ = ("folder",)
