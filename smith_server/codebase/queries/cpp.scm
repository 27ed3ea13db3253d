(function_definition declarator: (function_declarator declarator: [
  (field_identifier) (destructor_name) (operator_name)
] @name)) @definition.function
(function_definition declarator: (function_declarator declarator: (template_function name: (_) @name))) @definition.function
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier scope: (_) @parent name: (_) @name))) @definition.method
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: [
  (field_identifier) (operator_name)
] @name))) @definition.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator
  declarator: (qualified_identifier scope: (_) @parent name: (_) @name)))) @definition.method
(function_definition declarator: (reference_declarator (function_declarator declarator: [
  (identifier) (field_identifier) (operator_name)
] @name))) @definition.function
(function_definition declarator: (reference_declarator (function_declarator
  declarator: (qualified_identifier scope: (_) @parent name: (_) @name)))) @definition.method
(function_definition declarator: (operator_cast) @name) @definition.function
(function_definition declarator: (qualified_identifier scope: (_) @parent name: (operator_cast) @name)) @definition.method

(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @definition.prototype
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @definition.prototype
(field_declaration declarator: (reference_declarator (function_declarator declarator: (field_identifier) @name))) @definition.prototype
(declaration declarator: (function_declarator declarator: (destructor_name) @name)) @definition.prototype

(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(class_specifier name: (template_type name: (type_identifier) @name) body: (_)) @definition.class
(struct_specifier name: (template_type name: (type_identifier) @name) body: (_)) @definition.struct
(class_specifier name: (qualified_identifier name: (type_identifier) @name) body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.namespace
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type
