/* The zip container of torch.save. An own reader of the central directory: entries are stored, so that all it takes is
 * where an entry's bytes begin, which libzip does not tell; and a package less to install. */
#include "io/torch/torch_zip.h"

#include "io/torch/torch_parts.h"

#include "base/reader.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define END_SIZE 22       /* end of central directory, without its comment */
#define LOCATOR_SIZE 20   /* zip64: where the end record is */
#define END64_SIZE 56
#define ENTRY_SIZE 46     /* an entry of the directory, without name, extra field and comment */
#define LOCAL_SIZE 30
#define MAX_DIRECTORY (64u << 20)

typedef struct directory {
    uint64_t n, size, offset;
} directory;

static splat_status damaged(const splat_torch_file *file, uint64_t offset, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, offset, "the zip file is truncated or damaged: %s",
                         what);
}

/* The last record of the file: its comment, which torch leaves empty, must end where the file ends. */
static splat_status find_end(const splat_torch_file *file, uint64_t *end, splat_error *error)
{
    size_t size = file->size < END_SIZE + 65535 ? (size_t)file->size : END_SIZE + 65535;
    uint8_t *tail = malloc(size);
    if (!tail) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the end of a zip file");
    splat_status status = splat_torch_read_at(file, file->size - size, tail, size, error);
    bool found = false;
    for (size_t i = size; status == SPLAT_OK && !found && i >= END_SIZE; i--) {
        const uint8_t *record = tail + i - END_SIZE;
        size_t comment = (size_t)record[20] | (size_t)record[21] << 8;
        found = memcmp(record, "PK\5\6", 4) == 0 && comment == size - i;
        *end = file->size - size + (i - END_SIZE);
    }
    free(tail);
    if (status != SPLAT_OK) return status;
    return found ? SPLAT_OK : damaged(file, file->size, "its directory is missing", error);
}

static splat_status read_end64(const splat_torch_file *file, uint64_t end, directory *dir, splat_error *error)
{
    uint8_t bytes[END64_SIZE];
    if (end < LOCATOR_SIZE) return SPLAT_OK;
    SPLAT_TRY(splat_torch_read_at(file, end - LOCATOR_SIZE, bytes, LOCATOR_SIZE, error));
    if (memcmp(bytes, "PK\6\7", 4) != 0) return SPLAT_OK; /* a small file without it */
    uint64_t at;
    memcpy(&at, bytes + 8, sizeof at);
    if (at > end - LOCATOR_SIZE || end - LOCATOR_SIZE - at < END64_SIZE)
        return damaged(file, end - LOCATOR_SIZE, "the zip64 record is not before its end", error);
    SPLAT_TRY(splat_torch_read_at(file, at, bytes, END64_SIZE, error));
    if (memcmp(bytes, "PK\6\6", 4) != 0) return damaged(file, at, "the zip64 record is missing", error);
    memcpy(&dir->n, bytes + 32, 8);
    memcpy(&dir->size, bytes + 40, 8);
    memcpy(&dir->offset, bytes + 48, 8);
    return SPLAT_OK;
}

static splat_status find_directory(const splat_torch_file *file, directory *dir, splat_error *error)
{
    uint64_t end = 0;
    uint8_t bytes[END_SIZE];
    SPLAT_TRY(find_end(file, &end, error));
    SPLAT_TRY(splat_torch_read_at(file, end, bytes, END_SIZE, error));
    splat_reader r = splat_reader_make(bytes + 10, 10);
    dir->n = splat_read_u16(&r);
    dir->size = splat_read_u32(&r);
    dir->offset = splat_read_u32(&r);
    SPLAT_TRY(read_end64(file, end, dir, error));
    if (dir->offset > end || dir->size > end - dir->offset || dir->n > dir->size / ENTRY_SIZE)
        return damaged(file, end, "its directory does not fit into the file", error);
    if (dir->size > MAX_DIRECTORY)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, dir->offset,
                             "the directory of the zip file has more than %u bytes", MAX_DIRECTORY);
    return SPLAT_OK;
}

/* Sizes and offset that do not fit 32 bits stand in the extra field 1, in this order. */
static bool read_extra64(splat_reader *extra, uint64_t *size, uint64_t *packed_size, uint64_t *header)
{
    uint64_t *const wanted[3] = {size, packed_size, header};
    while (splat_reader_left(extra) >= 4) {
        uint16_t id = splat_read_u16(extra), length = splat_read_u16(extra);
        if (length > splat_reader_left(extra)) return false;
        splat_reader field = splat_reader_make(extra->data + extra->position, length);
        for (int i = 0; id == 1 && i < 3; i++)
            if (*wanted[i] == UINT32_MAX) *wanted[i] = splat_read_u64(&field);
        if (field.failed) return false;
        splat_read_skip(extra, length);
    }
    return true;
}

static bool read_entry(splat_reader *r, splat_torch_entry *entry)
{
    uint8_t signature[4];
    splat_read_bytes(r, signature, 4);
    splat_read_skip(r, 4); /* versions */
    uint16_t flags = splat_read_u16(r), method = splat_read_u16(r);
    splat_read_skip(r, 4); /* time and date */
    entry->crc = splat_read_u32(r);
    uint64_t packed_size = splat_read_u32(r);
    entry->size = splat_read_u32(r);
    uint16_t name = splat_read_u16(r), extra = splat_read_u16(r), comment = splat_read_u16(r);
    splat_read_skip(r, 8); /* disk and attributes */
    entry->header = splat_read_u32(r);
    entry->name = (const char *)r->data + r->position;
    entry->name_size = name;
    splat_read_skip(r, name);
    if (r->failed || memcmp(signature, "PK\1\2", 4) != 0 || extra > splat_reader_left(r)) return false;
    splat_reader fields = splat_reader_make(r->data + r->position, extra);
    if (!read_extra64(&fields, &entry->size, &packed_size, &entry->header)) return false;
    splat_read_skip(r, (size_t)extra + comment);
    entry->is_encrypted = flags & 1;
    entry->is_stored = method == 0 && packed_size == entry->size;
    return !r->failed;
}

static int compare_names(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_entries(const void *a, const void *b)
{
    const splat_torch_entry *x = a, *y = b;
    return compare_names(x->name, x->name_size, y->name, y->name_size);
}

/* The folder is what stands before "data.pkl" in the only name that ends so. */
static splat_status find_folder(splat_torch_file *file, uint64_t at, splat_error *error)
{
    static const char tail[] = "/data.pkl";
    size_t length = sizeof tail - 1, n_found = 0;
    for (size_t i = 0; i < file->n_entries; i++) {
        const splat_torch_entry *entry = &file->entries[i];
        if (i && compare_entries(entry - 1, entry) == 0)
            return damaged(file, at, "two entries have the same name", error);
        if (entry->name_size < length || memcmp(entry->name + entry->name_size - length, tail, length) != 0) continue;
        if (memchr(entry->name, '/', entry->name_size - length)) continue; /* deeper: not of torch.save */
        file->folder = entry->name;
        file->folder_size = entry->name_size - length + 1;
        n_found++;
    }
    if (n_found == 1) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, at,
                         "this zip file has %s data.pkl in a folder, so it is not of torch.save",
                         n_found ? "more than one" : "no");
}

splat_status splat_torch_zip_open(splat_torch_file *file, splat_error *error)
{
    directory dir;
    SPLAT_TRY(find_directory(file, &dir, error));
    uint8_t *bytes = splat_torch_allocate(file, (size_t)dir.size, error);
    if (!bytes) return SPLAT_ERROR_MEMORY;
    SPLAT_TRY(splat_torch_read_at(file, dir.offset, bytes, (size_t)dir.size, error));
    file->entries = splat_torch_allocate(file, (size_t)dir.n * sizeof *file->entries, error);
    if (!file->entries) return SPLAT_ERROR_MEMORY;
    splat_reader r = splat_reader_make(bytes, (size_t)dir.size);
    for (uint64_t i = 0; i < dir.n; i++)
        if (!read_entry(&r, &file->entries[i])) return damaged(file, dir.offset + r.position, "a bad entry", error);
    file->n_entries = (size_t)dir.n;
    qsort(file->entries, file->n_entries, sizeof *file->entries, compare_entries);
    return find_folder(file, dir.offset, error);
}

const splat_torch_entry *splat_torch_zip_find(const splat_torch_file *file, const char *name, size_t name_size)
{
    size_t low = 0, high = file->n_entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const splat_torch_entry *entry = &file->entries[middle];
        size_t common = entry->name_size < file->folder_size ? entry->name_size : file->folder_size;
        int order = compare_names(entry->name, common, file->folder, file->folder_size);
        if (order == 0)
            order = compare_names(entry->name + common, entry->name_size - common, name, name_size);
        if (order == 0) return entry;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static splat_status check_bytes(const splat_torch_file *file, const splat_torch_entry *entry, uint64_t begin,
                                splat_error *error)
{
    /* PyTorch can be asked to leave the checksum out (set_crc32_options) */
    if (entry->crc == 0) return SPLAT_OK;
    size_t room = entry->size < (1u << 18) ? (size_t)entry->size : 1u << 18;
    uint8_t *bytes = malloc(room ? room : 1);
    if (!bytes) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to check a file");
    splat_status status = SPLAT_OK;
    uLong crc = crc32_z(0, NULL, 0);
    for (uint64_t done = 0; done < entry->size && status == SPLAT_OK;) {
        size_t n = entry->size - done < room ? (size_t)(entry->size - done) : room;
        status = splat_torch_read_at(file, begin + done, bytes, n, error);
        if (status == SPLAT_OK) crc = crc32_z(crc, bytes, n);
        done += n;
    }
    free(bytes);
    char name[80];
    if (status == SPLAT_OK && crc != entry->crc)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, begin,
                             "the entry %s does not match its checksum: the file is damaged",
                             splat_torch_printable(name, sizeof name, entry->name, entry->name_size));
    return status;
}

splat_status splat_torch_zip_locate(splat_torch_file *file, const splat_torch_entry *entry, uint64_t *offset,
                                    splat_error *error)
{
    uint8_t local[LOCAL_SIZE];
    char name[80];
    if (!entry->is_stored || entry->is_encrypted)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, entry->header,
                             "the entry %s is compressed or encrypted, which torch.save never does; unpack the zip "
                             "file and pack it without compression (zip -0)",
                             splat_torch_printable(name, sizeof name, entry->name, entry->name_size));
    if (entry->header > file->size || file->size - entry->header < LOCAL_SIZE)
        return damaged(file, entry->header, "an entry begins beyond its end", error);
    SPLAT_TRY(splat_torch_read_at(file, entry->header, local, LOCAL_SIZE, error));
    uint64_t before = LOCAL_SIZE + (uint64_t)(local[26] | local[27] << 8) + (uint64_t)(local[28] | local[29] << 8);
    uint64_t left = file->size - entry->header;
    if (memcmp(local, "PK\3\4", 4) != 0 || before > left || entry->size > left - before)
        return damaged(file, entry->header, "an entry is not where the directory says", error);
    /* a thousand entries over the same bytes would take a thousand times as long to check */
    if (entry->size > file->size - file->n_bytes_located) return damaged(file, entry->header, "entries overlap", error);
    file->n_bytes_located += entry->size;
    *offset = entry->header + before;
    return check_bytes(file, entry, *offset, error);
}
