(function_declaration name: (dot_index_expression table: (_) @parent field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression table: (_) @parent method: (identifier) @name)) @definition.method
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @parent field: (identifier) @name))
  (expression_list . value: (function_definition))) @definition.function
(assignment_statement
  (variable_list . name: (bracket_index_expression table: (_) @parent field: (string content: (_) @name)))
  (expression_list . value: (function_definition))) @definition.function
