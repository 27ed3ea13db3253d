(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @definition.method

(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.field

(method_signature name: [(property_identifier) (private_property_identifier) (string)] @name) @definition.method
(property_signature name: (property_identifier) @name) @definition.field
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: (_) @name) @definition.module
(module name: (_) @name) @definition.module
