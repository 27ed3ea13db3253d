(field_definition
  property: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @definition.method

(field_definition property: [(property_identifier) (private_property_identifier)] @name) @definition.field
