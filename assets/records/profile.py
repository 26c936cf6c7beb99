"""A persona made ready for role-play."""

from assets.records.base import Text, UserRecord


class UserProfile(UserRecord):
    """The fields of the reference's `user_profile`; `formatted_str` is what the models read."""

    name: Text
    age: int
    gender: str
    marital_status: str
    education_level: str
    occupation: str
    hobbies_and_interests: str
    skills_and_expertise: str
    complementary_info: Text
    formatted_str: Text
