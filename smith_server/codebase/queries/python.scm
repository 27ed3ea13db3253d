(class_definition
  body: (block (expression_statement (assignment left: (identifier) @name) @definition.field)))

(module (type_alias_statement left: (type (identifier) @name)) @definition.type)
