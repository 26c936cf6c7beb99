"""A persona made ready for role-play."""

from pydantic import Field

from assets.records.base import Text, UserRecord


class UserProfile(UserRecord):
    """The fields of the reference's `user_profile`; `formatted_str` is what the models read."""

    name: Text = Field(description="found in the persona's texts")
    age: int = Field(description="in years")
    gender: str = Field(description="in lower case")
    marital_status: str = Field(description="in plain words")
    education_level: str = Field(description="with the subject of a degree, where there is one")
    occupation: str = Field(description="in plain words")
    hobbies_and_interests: str = Field(description="separated by commas")
    skills_and_expertise: str = Field(description="separated by commas")
    complementary_info: Text = Field(description="the persona's texts as one paragraph of fewer than 500 words")
    formatted_str: Text = Field(description="the whole profile as every later prompt shows it")
