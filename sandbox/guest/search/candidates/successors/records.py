"""Pydantic, SQLAlchemy, marshmallow and other data libraries, from their change logs."""

from __future__ import annotations

from sandbox.guest.search.candidates.successors.notation import Renames, Rewrite, table

RENAMES = Renames(
    modules=table("""
pydantic.generics pydantic.main pydantic.error_wrappers -> pydantic
pydantic.utils pydantic.typing pydantic.errors -> pydantic.v1.utils | pydantic
pydantic.class_validators pydantic.fields -> pydantic.v1.utils | pydantic
pydantic.tools -> pydantic.v1.tools | pydantic
pydantic.env_settings -> pydantic_settings
sqlalchemy.ext.declarative -> sqlalchemy.orm
sqlalchemy.engine.reflection -> sqlalchemy
sqlalchemy.sql.expression -> sqlalchemy
attr -> attrs
"""),
    names=table("""
pydantic.validator -> pydantic.field_validator
pydantic.root_validator -> pydantic.model_validator
pydantic.BaseSettings -> pydantic_settings.BaseSettings
pydantic.parse_obj_as pydantic.tools.parse_obj_as -> pydantic.TypeAdapter
pydantic.generics.GenericModel -> pydantic.BaseModel
pydantic.error_wrappers.ValidationError -> pydantic.ValidationError
pydantic.PyObject -> pydantic.ImportString
pydantic.fields.ModelField -> pydantic.fields.FieldInfo
pydantic.Extra -> pydantic.v1.Extra
pydantic.BaseConfig -> pydantic.ConfigDict
pydantic.Required -> pydantic.v1.Required
sqlalchemy.ext.declarative.declarative_base -> sqlalchemy.orm.declarative_base
sqlalchemy.ext.declarative.declared_attr -> sqlalchemy.orm.declared_attr
sqlalchemy.ext.declarative.as_declarative -> sqlalchemy.orm.as_declarative
sqlalchemy.orm.relation -> sqlalchemy.orm.relationship
sqlalchemy.orm.eagerload -> sqlalchemy.orm.joinedload
sqlalchemy.orm.mapper -> sqlalchemy.orm.Mapper
sqlalchemy.engine.RowProxy sqlalchemy.engine.result.RowProxy -> sqlalchemy.engine.Row
sqlalchemy.engine.reflection.Inspector -> sqlalchemy.inspect
sqlalchemy.databases -> sqlalchemy.dialects
sqlalchemy.Binary -> sqlalchemy.LargeBinary
attr.s -> attr.define
redis.StrictRedis -> redis.Redis
yaml.UnsafeLoader -> yaml.Loader
marshmallow.fields.LocalDateTime -> marshmallow.fields.DateTime
jsonschema.RefResolver -> referencing.Registry
"""),
    attributes=table("""
dict -> model_dump
json -> model_dump_json
parse_obj from_orm validate -> model_validate
parse_raw -> model_validate_json
parse_file -> model_validate_json
copy -> model_copy
construct -> model_construct
schema -> model_json_schema
schema_json -> model_json_schema
update_forward_refs -> model_rebuild
__fields__ -> model_fields
__fields_set__ -> model_fields_set
__config__ -> model_config
__validators__ -> __pydantic_decorators__
model_dump -> dict
model_dump_json -> json
model_validate -> parse_obj
model_validate_json -> parse_raw
model_copy -> copy
model_fields -> __fields__
table_names -> get_table_names
_asdict -> _mapping
from_self -> subquery
"""),
    keywords=table("""
regex -> pattern
min_items -> min_length
max_items -> max_length
allow_population_by_field_name -> populate_by_name
orm_mode -> from_attributes
convert -> converter
cmp -> eq
missing -> load_default
default -> dump_default
load_from dump_to attribute -> data_key
autocommit ->
bind ->
"""),
    rewrites=(
        Rewrite("schema_json", "json.dumps({value}.model_json_schema({args}))", "import json"),
        Rewrite(
            "parse_obj_as",
            "TypeAdapter({first}).validate_python({rest})",
            "from pydantic import TypeAdapter",
        ),
    ),
)
"""Renamed, moved and removed names."""
