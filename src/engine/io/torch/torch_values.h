/* Values of a file: nodes, and what they hold. */
#ifndef SPLAT_IO_TORCH_VALUES_H
#define SPLAT_IO_TORCH_VALUES_H

#include "io/torch/torch_file.h"
#include "io/torch/torch_parts.h"

/* A new node, and nodes in containers. `at` is the byte offset of the opcode, for messages. */
splat_status splat_torch_node_make(splat_torch_file *file, splat_torch_kind kind, splat_torch_node **node,
                                   splat_error *error);
splat_status splat_torch_dict_set(splat_torch_file *file, splat_torch_node *dict, splat_torch_node *key,
                                  splat_torch_node *value, uint64_t at, splat_error *error);
/* Marks `part` as a part of `whole`, before it is stored there. */
splat_status splat_torch_adopt(const splat_torch_file *file, splat_torch_node *whole, splat_torch_node *part,
                               uint64_t at, splat_error *error);

/* The value of a key of a dict, the item of a list or tuple, the tensor of a value; NULL when there is none or when the
 * value (NULL allowed) is of another kind. */
const splat_torch_value *splat_torch_get(const splat_torch_value *dict, const char *key);
const splat_torch_value *splat_torch_get_integer(const splat_torch_value *dict, int64_t key);
const splat_torch_value *splat_torch_item(const splat_torch_value *list, size_t index);
const splat_torch_tensor *splat_torch_tensor_of(const splat_torch_value *value);
bool splat_torch_text_is(const splat_torch_value *value, const char *text);

#endif
