/* The names that a pickle may mention, and what calling them means here: the list is the whole of what can happen. */
#include "io/torch/torch_names.h"
#include "io/torch/torch_parts.h"
#include "io/torch/torch_values.h"
#include "io/torch/torch_zip.h"

#include <stdio.h>
#include <string.h>

typedef enum call_kind {
    CALL_NOTHING, /* mentioned only */
    CALL_ORDERED_DICT,
    CALL_TENSOR,
    CALL_TENSOR_TYPED, /* _rebuild_tensor_v3: the type is an argument */
    CALL_PARAMETER,
    CALL_SIZE,
    CALL_DEVICE,
    CALL_BYTES,
    CALL_ENCODE,
    CALL_NUMPY_DTYPE,
    CALL_NUMPY_SCALAR
} call_kind;

typedef struct known_name {
    const char *name;
    call_kind call;
    splat_torch_dtype dtype; /* of a storage or a dtype */
    bool is_storage;
} known_name;

#define STORAGE(name, dtype) {"torch." name "Storage", CALL_NOTHING, SPLAT_TORCH_##dtype, true}
#define DTYPE(name, dtype) {"torch." name, CALL_NOTHING, SPLAT_TORCH_##dtype, false}
#define FUNCTION(name, call) {name, CALL_##call, SPLAT_TORCH_UNTYPED, false}

static const known_name known[] = {
    FUNCTION("collections.OrderedDict", ORDERED_DICT),
    FUNCTION("torch._utils._rebuild_tensor", TENSOR),
    FUNCTION("torch._utils._rebuild_tensor_v2", TENSOR),
    FUNCTION("torch._utils._rebuild_tensor_v3", TENSOR_TYPED),
    FUNCTION("torch._utils._rebuild_parameter", PARAMETER),
    FUNCTION("torch._utils._rebuild_parameter_with_state", PARAMETER),
    FUNCTION("torch.nn.parameter.Parameter", PARAMETER),
    FUNCTION("torch.Size", SIZE),
    FUNCTION("torch.device", DEVICE),
    FUNCTION("__builtin__.bytes", BYTES),
    FUNCTION("builtins.bytes", BYTES),
    FUNCTION("_codecs.encode", ENCODE),
    FUNCTION("numpy.dtype", NUMPY_DTYPE),
    FUNCTION("numpy.core.multiarray.scalar", NUMPY_SCALAR),
    FUNCTION("numpy._core.multiarray.scalar", NUMPY_SCALAR),
    STORAGE("Double", F64), STORAGE("Float", F32), STORAGE("Half", F16), STORAGE("BFloat16", BF16),
    STORAGE("Long", I64), STORAGE("Int", I32), STORAGE("Short", I16), STORAGE("Char", I8), STORAGE("Byte", U8),
    STORAGE("Bool", BOOL8), STORAGE("storage.Untyped", UNTYPED), STORAGE("Untyped", UNTYPED),
    DTYPE("float64", F64), DTYPE("float32", F32), DTYPE("float16", F16), DTYPE("bfloat16", BF16),
    DTYPE("int64", I64), DTYPE("int32", I32), DTYPE("int16", I16), DTYPE("int8", I8), DTYPE("uint8", U8),
    DTYPE("bool", BOOL8),
};
#define N_KNOWN (sizeof known / sizeof known[0])

size_t splat_torch_dtype_size(splat_torch_dtype dtype)
{
    static const uint8_t sizes[] = {1, 8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
    return sizes[dtype];
}

splat_status splat_torch_name_find(splat_torch_file *file, const char *module, size_t module_size, const char *name,
                                   size_t name_size, uint64_t at, splat_torch_node **node, splat_error *error)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        const char *candidate = known[i].name;
        size_t length = strlen(candidate);
        if (module_size >= length || name_size != length - module_size - 1) continue;
        if (memcmp(candidate, module, module_size) != 0 || candidate[module_size] != '.') continue;
        if (memcmp(candidate + module_size + 1, name, name_size) != 0) continue;
        SPLAT_TRY(splat_torch_node_make(file, SPLAT_TORCH_NAME, node, error));
        (*node)->name = (int)i;
        (*node)->value.text = candidate;
        (*node)->value.n = length;
        return SPLAT_OK;
    }
    char a[128], b[128];
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, at,
                         "the file asks Python for %s.%s, which is not plain data and may run code; save a state_dict "
                         "or plain tensors instead",
                         splat_torch_printable(a, sizeof a, module, module_size),
                         splat_torch_printable(b, sizeof b, name, name_size));
}

/* ---------------------------------------------------------------- arguments */

/* A call: what is needed to read its arguments and to say what is wrong with them. */
typedef struct call_site {
    splat_torch_file *file;
    const known_name *function;
    const splat_torch_value *arguments; /* TUPLE */
    uint64_t at;
} call_site;

static splat_status bad(const call_site *site, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, site->file->path, site->at, "the arguments of %s are damaged: %s",
                         site->function->name, what);
}

/* NULL when it is absent or of another kind. */
static const splat_torch_value *argument(const call_site *site, size_t index, splat_torch_kind kind)
{
    const splat_torch_value *value = splat_torch_item(site->arguments, index);
    return value && value->kind == kind ? value : NULL;
}

static const known_name *named(const splat_torch_value *value)
{
    return value && value->kind == SPLAT_TORCH_NAME ? &known[((const splat_torch_node *)value)->name] : NULL;
}

/* Every value comes from this reader, so that it is a node, and the file is still being read. */
static splat_torch_node *node_of(const splat_torch_value *value)
{
    return (splat_torch_node *)value;
}

static splat_status make_text(const call_site *site, splat_torch_kind kind, const char *text, size_t size,
                              splat_torch_node **result, splat_error *error)
{
    char *copy = splat_torch_allocate(site->file, size + 1, error);
    if (!copy) return SPLAT_ERROR_MEMORY;
    memcpy(copy, text, size);
    SPLAT_TRY(splat_torch_node_make(site->file, kind, result, error));
    (*result)->value.text = copy;
    (*result)->value.n = size;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- tensors */

/* Sizes or strides; not negative. */
static bool read_numbers(const splat_torch_value *list, uint64_t *numbers)
{
    for (size_t i = 0; i < list->n; i++) {
        const splat_torch_value *item = list->items[i];
        if (item->kind != SPLAT_TORCH_INT || item->integer < 0) return false;
        numbers[i] = (uint64_t)item->integer;
    }
    return true;
}

/* n, and that the last element is inside `room` elements of the storage. */
static splat_status check_tensor(const call_site *site, splat_torch_tensor *tensor, uint64_t room, splat_error *error)
{
    uint64_t last = 0, step;
    bool overflow = false, empty = false;
    tensor->n = 1;
    for (int i = 0; i < tensor->n_dims; i++) empty |= tensor->shape[i] == 0;
    for (int i = 0; i < tensor->n_dims && !empty; i++) {
        overflow |= __builtin_mul_overflow(tensor->n, tensor->shape[i], &tensor->n);
        overflow |= __builtin_mul_overflow(tensor->shape[i] - 1, tensor->stride[i], &step);
        overflow |= __builtin_add_overflow(last, step, &last);
    }
    if (empty) {
        tensor->n = 0;
        return SPLAT_OK;
    }
    if (overflow || tensor->first >= room || last >= room - tensor->first)
        return bad(site, "the tensor is larger than its storage", error);
    if (tensor->n > room)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, site->file->path, site->at,
                             "a tensor repeats the elements of its storage (expand); save its contiguous() copy");
    return SPLAT_OK;
}

/* (storage, first, shape, stride, requires_grad, hooks[, dtype]) */
static splat_status call_tensor(const call_site *site, splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *storage = argument(site, 0, SPLAT_TORCH_STORAGE);
    const splat_torch_value *first = argument(site, 1, SPLAT_TORCH_INT);
    const splat_torch_value *shape = argument(site, 2, SPLAT_TORCH_TUPLE);
    const splat_torch_value *stride = argument(site, 3, SPLAT_TORCH_TUPLE);
    if (!storage || !first || first->integer < 0 || !shape || !stride || shape->n != stride->n)
        return bad(site, "no storage, offset, shape and stride", error);
    if (shape->n > SPLAT_TORCH_MAX_DIMS)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, site->file->path, site->at,
                             "a tensor has %zu dimensions; %d are the most here", shape->n, SPLAT_TORCH_MAX_DIMS);
    splat_torch_tensor *tensor = splat_torch_allocate(site->file, sizeof *tensor, error);
    if (!tensor) return SPLAT_ERROR_MEMORY;
    tensor->storage = storage->storage;
    tensor->dtype = storage->storage->dtype;
    tensor->n_dims = (int)shape->n;
    uint64_t room = storage->n, view = node_of(storage)->first;
    if (site->function->call == CALL_TENSOR_TYPED) {
        const known_name *type = named(splat_torch_item(site->arguments, 6));
        bool is_typed = type && !type->is_storage && type->dtype != SPLAT_TORCH_UNTYPED;
        if (!is_typed || tensor->dtype != SPLAT_TORCH_UNTYPED || view)
            return bad(site, "no type", error);
        tensor->dtype = type->dtype;
        room /= splat_torch_dtype_size(type->dtype);
    } else if (tensor->dtype == SPLAT_TORCH_UNTYPED) {
        return bad(site, "its storage has no type", error);
    }
    tensor->first = (uint64_t)first->integer;
    if (!read_numbers(shape, tensor->shape) || !read_numbers(stride, tensor->stride))
        return bad(site, "a size or stride is not a count", error);
    SPLAT_TRY(check_tensor(site, tensor, room, error));
    if (tensor->n) tensor->first += view; /* both are inside the storage */
    SPLAT_TRY(splat_torch_node_make(site->file, SPLAT_TORCH_TENSOR, result, error));
    (*result)->value.tensor = tensor;
    return SPLAT_OK;
}

/* (tensor, requires_grad, ...) */
static splat_status call_parameter(const call_site *site, splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *tensor = argument(site, 0, SPLAT_TORCH_TENSOR);
    if (!tensor) return bad(site, "no tensor", error);
    *result = node_of(tensor);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- other torch and Python objects */

/* () or, from Python 2, ([[key, value], ...],) */
static splat_status call_ordered_dict(const call_site *site, splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *list = splat_torch_item(site->arguments, 0);
    SPLAT_TRY(splat_torch_node_make(site->file, SPLAT_TORCH_DICT, result, error));
    if (list && list->kind != SPLAT_TORCH_LIST) return bad(site, "no list of pairs", error);
    for (size_t i = 0; list && i < list->n; i++) {
        const splat_torch_value *pair = list->items[i];
        const splat_torch_value *key = splat_torch_item(pair, 0), *value = splat_torch_item(pair, 1);
        if (!key || !value || pair->n != 2) return bad(site, "no list of pairs", error);
        SPLAT_TRY(splat_torch_dict_set(site->file, *result, node_of(key), node_of(value), site->at, error));
    }
    return SPLAT_OK;
}

static splat_status call_size(const call_site *site, splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *tuple = argument(site, 0, SPLAT_TORCH_TUPLE);
    if (!tuple) return bad(site, "no tuple", error);
    *result = node_of(tuple);
    return SPLAT_OK;
}

/* ("cuda", 0) becomes the text "cuda:0". */
static splat_status call_device(const call_site *site, splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *type = argument(site, 0, SPLAT_TORCH_STRING), *index = argument(site, 1, SPLAT_TORCH_INT);
    char text[64];
    if (!type || type->n > 31) return bad(site, "no device", error);
    int n = index ? snprintf(text, sizeof text, "%s:%lld", type->text, (long long)index->integer)
                  : snprintf(text, sizeof text, "%s", type->text);
    return make_text(site, SPLAT_TORCH_STRING, text, (size_t)n, result, error);
}

static splat_status call_bytes(const call_site *site, splat_torch_node **result, splat_error *error)
{
    if (site->arguments->n) return bad(site, "not empty", error);
    return make_text(site, SPLAT_TORCH_BYTES, "", 0, result, error);
}

/* Bytes, which protocol 2 writes as (text, "latin1"): the code points are the bytes, so UTF-8 of one or two bytes. */
static splat_status call_encode(const call_site *site, splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *text = argument(site, 0, SPLAT_TORCH_STRING);
    if (!text || !splat_torch_text_is(splat_torch_item(site->arguments, 1), "latin1"))
        return bad(site, "no text in latin1", error);
    char *bytes = splat_torch_allocate(site->file, text->n + 1, error);
    if (!bytes) return SPLAT_ERROR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++) {
        uint8_t c = (uint8_t)text->text[i];
        if (c >= 0x80) {
            uint8_t next = i + 1 < text->n ? (uint8_t)text->text[++i] : 0;
            if ((c != 0xc2 && c != 0xc3) || (next & 0xc0) != 0x80) return bad(site, "a character is not a byte", error);
            c = (uint8_t)((c & 3) << 6 | (next & 0x3f));
        }
        bytes[n++] = (char)c;
    }
    SPLAT_TRY(splat_torch_node_make(site->file, SPLAT_TORCH_BYTES, result, error));
    (*result)->value.text = bytes;
    (*result)->value.n = n;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- numpy scalars */

/* ("f4", False, True): a NAME whose text is the type. */
static splat_status call_numpy_dtype(const call_site *site, splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *type = argument(site, 0, SPLAT_TORCH_STRING);
    if (!type || type->n != 2 || !memchr("fiub", type->text[0], 4) || !memchr("1248", type->text[1], 4))
        return bad(site, "the type is not a number", error);
    SPLAT_TRY(make_text(site, SPLAT_TORCH_NAME, type->text, type->n, result, error));
    (*result)->name = (int)(site->function - known);
    return SPLAT_OK;
}

/* (dtype, bytes) */
static splat_status call_numpy_scalar(const call_site *site, splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *type = argument(site, 0, SPLAT_TORCH_NAME), *bytes = splat_torch_item(site->arguments, 1);
    if (!type || named(type)->call != CALL_NUMPY_DTYPE || type->n != 2) return bad(site, "no type", error);
    size_t size = (size_t)(type->text[1] - '0');
    if (!bytes || (bytes->kind != SPLAT_TORCH_BYTES && bytes->kind != SPLAT_TORCH_STRING) || bytes->n != size)
        return bad(site, "not the bytes of a number", error);
    char letter = type->text[0];
    splat_torch_kind kind = letter == 'f' ? SPLAT_TORCH_FLOAT : letter == 'b' ? SPLAT_TORCH_BOOL : SPLAT_TORCH_INT;
    uint64_t bits = 0;
    float single;
    memcpy(&bits, bytes->text, size);
    memcpy(&single, bytes->text, sizeof single < size ? sizeof single : size);
    SPLAT_TRY(splat_torch_node_make(site->file, kind, result, error));
    splat_torch_value *value = &(*result)->value;
    if (kind == SPLAT_TORCH_BOOL) {
        value->boolean = bits != 0;
    } else if (kind == SPLAT_TORCH_INT) {
        if (letter == 'i' && size < 8 && bits >> (8 * size - 1)) bits |= UINT64_MAX << (8 * size);
        if (letter == 'u' && bits > INT64_MAX) return bad(site, "an integer of more than 63 bits", error);
        memcpy(&value->integer, &bits, sizeof bits);
    } else if (size == 8) {
        memcpy(&value->number, &bits, sizeof bits);
    } else if (size == 4) {
        value->number = single;
    } else {
        return bad(site, "a float of 2 bytes or less", error);
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- what the machine calls */

splat_status splat_torch_call(splat_torch_file *file, const splat_torch_node *function,
                              const splat_torch_node *arguments, uint64_t at, splat_torch_node **result,
                              splat_error *error)
{
    if (function->value.kind != SPLAT_TORCH_NAME || arguments->value.kind != SPLAT_TORCH_TUPLE)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at,
                             "the pickle is damaged: a call of what is no name");
    call_site site = {file, &known[function->name], &arguments->value, at};
    switch (function->value.text == site.function->name ? site.function->call : CALL_NOTHING) {
    case CALL_ORDERED_DICT: return call_ordered_dict(&site, result, error);
    case CALL_TENSOR:
    case CALL_TENSOR_TYPED: return call_tensor(&site, result, error);
    case CALL_PARAMETER: return call_parameter(&site, result, error);
    case CALL_SIZE: return call_size(&site, result, error);
    case CALL_DEVICE: return call_device(&site, result, error);
    case CALL_BYTES: return call_bytes(&site, result, error);
    case CALL_ENCODE: return call_encode(&site, result, error);
    case CALL_NUMPY_DTYPE: return call_numpy_dtype(&site, result, error);
    case CALL_NUMPY_SCALAR: return call_numpy_scalar(&site, result, error);
    case CALL_NOTHING: break;
    }
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, at,
                         "the pickle makes an object of %s, which is a type to mention only", function->value.text);
}

splat_status splat_torch_build(splat_torch_file *file, splat_torch_node *object, const splat_torch_node *state,
                               uint64_t at, splat_error *error)
{
    const known_name *name = named(&object->value);
    if (object->value.kind == SPLAT_TORCH_DICT && state->value.kind == SPLAT_TORCH_DICT)
        return SPLAT_OK; /* attributes of an OrderedDict, such as the _metadata of a state_dict */
    if (name && name->call == CALL_NUMPY_DTYPE && object->value.n == 2) { /* (3, byte order, ...) */
        const splat_torch_value *order = splat_torch_item(&state->value, 1);
        if (splat_torch_text_is(order, "<") || splat_torch_text_is(order, "|")) return SPLAT_OK;
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, at, "a numpy number is not little-endian");
    }
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, at,
                         "the pickle sets the state of an object that is neither a dict nor a numpy type");
}

/* ---------------------------------------------------------------- storages */

static uint32_t hash_of(const char *key, size_t size) /* FNV-1a */
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)key[i]) * 16777619u;
    return hash;
}

splat_torch_storage *splat_torch_storage_find(const splat_torch_file *file, const char *key, size_t key_size)
{
    uint32_t hash = hash_of(key, key_size);
    splat_torch_storage *storage = file->storages[hash % SPLAT_TORCH_BUCKETS];
    while (storage && (storage->hash != hash || storage->key_size != key_size ||
                       memcmp(storage->key, key, key_size) != 0))
        storage = storage->next;
    return storage;
}

static splat_status locate_in_zip(splat_torch_file *file, splat_torch_storage *storage, uint64_t at, splat_error *error)
{
    char name[64], printable[48];
    splat_torch_printable(printable, sizeof printable, storage->key, storage->key_size);
    int n = storage->key_size < 48 ? snprintf(name, sizeof name, "data/%.*s", (int)storage->key_size, storage->key) : 0;
    const splat_torch_entry *entry = n > 0 ? splat_torch_zip_find(file, name, (size_t)n) : NULL;
    if (!entry)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at, "the zip file has no entry data/%s", printable);
    if (entry->size < storage->n * splat_torch_dtype_size(storage->dtype))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at, "the entry data/%s is shorter than its tensors",
                             printable);
    SPLAT_TRY(splat_torch_zip_locate(file, entry, &storage->offset, error));
    storage->located = true;
    return SPLAT_OK;
}

static splat_status add_storage(splat_torch_file *file, const splat_torch_value *key, splat_torch_dtype dtype,
                                uint64_t n, uint64_t at, splat_torch_storage **out, splat_error *error)
{
    if (n > file->size / splat_torch_dtype_size(dtype))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at,
                             "a storage has more bytes than the file: the file is truncated or damaged");
    if (++file->n_storages > SPLAT_TORCH_MAX_STORAGES)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, at, "the file has more than %u storages",
                             SPLAT_TORCH_MAX_STORAGES);
    splat_torch_storage *storage = splat_torch_allocate(file, sizeof *storage, error);
    if (!storage) return SPLAT_ERROR_MEMORY;
    storage->key = key->text;
    storage->key_size = key->n;
    storage->hash = hash_of(key->text, key->n);
    storage->dtype = dtype;
    storage->n = n;
    if (file->entries) SPLAT_TRY(locate_in_zip(file, storage, at, error));
    splat_torch_storage **bucket = &file->storages[storage->hash % SPLAT_TORCH_BUCKETS];
    storage->next = *bucket;
    *bucket = storage;
    *out = storage;
    return SPLAT_OK;
}

/* (key, first, n): a part of a storage, in files of the first PyTorch. */
static bool read_view(const splat_torch_value *view, splat_torch_node *node)
{
    const splat_torch_value *first = splat_torch_item(view, 1), *n = splat_torch_item(view, 2);
    if (!first || !n || first->kind != SPLAT_TORCH_INT || n->kind != SPLAT_TORCH_INT) return false;
    if (first->integer < 0 || n->integer < 0 || (uint64_t)first->integer > node->value.n) return false;
    if ((uint64_t)n->integer > node->value.n - (uint64_t)first->integer) return false;
    node->first = (uint64_t)first->integer;
    node->value.n = (size_t)n->integer;
    return true;
}

splat_status splat_torch_persistent(splat_torch_file *file, const splat_torch_node *id, uint64_t at,
                                    splat_torch_node **result, splat_error *error)
{
    const splat_torch_value *tuple = &id->value, *key = splat_torch_item(tuple, 2), *n = splat_torch_item(tuple, 4);
    const splat_torch_value *view = splat_torch_item(tuple, 5);
    const known_name *type = named(splat_torch_item(tuple, 1));
    if (splat_torch_text_is(splat_torch_item(tuple, 0), "module"))
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, at,
                             "the file holds a module with its source code; save its state_dict() instead");
    if (!splat_torch_text_is(splat_torch_item(tuple, 0), "storage") || !type || !type->is_storage || !key ||
        key->kind != SPLAT_TORCH_STRING || !n || n->kind != SPLAT_TORCH_INT || n->integer < 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at, "the pickle is damaged: a storage has no name");
    splat_torch_storage *storage = splat_torch_storage_find(file, key->text, key->n);
    if (!storage) SPLAT_TRY(add_storage(file, key, type->dtype, (uint64_t)n->integer, at, &storage, error));
    if (storage->dtype != type->dtype || storage->n != (uint64_t)n->integer)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at,
                             "two tensors disagree on the storage they share");
    SPLAT_TRY(splat_torch_node_make(file, SPLAT_TORCH_STORAGE, result, error));
    (*result)->value.storage = storage;
    (*result)->value.n = (size_t)storage->n;
    if (view && view->kind != SPLAT_TORCH_NONE && !read_view(view, *result))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at, "a part of a storage is outside of it");
    return SPLAT_OK;
}
