/* Media types; see media_type.h. */
#include "run/media_type.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static const struct {
        const char *ending, *type;
} table[] = {
        {"bmp", "image/bmp"},
        {"csv", "text/csv"},
        {"css", "text/css"},
        {"db", "application/vnd.sqlite3"},
        {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
        {"geojson", "application/geo+json"},
        {"gif", "image/gif"},
        {"gz", "application/gzip"},
        {"htm", "text/html"},
        {"html", "text/html"},
        {"ico", "image/vnd.microsoft.icon"},
        {"jpeg", "image/jpeg"},
        {"jpg", "image/jpeg"},
        {"js", "text/javascript"},
        {"json", "application/json"},
        {"jsonl", "application/jsonl"},
        {"log", "text/plain"},
        {"md", "text/markdown"},
        {"mp3", "audio/mpeg"},
        {"mp4", "video/mp4"},
        {"parquet", "application/vnd.apache.parquet"},
        {"pdf", "application/pdf"},
        {"png", "image/png"},
        {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
        {"py", "text/x-python"},
        {"sqlite", "application/vnd.sqlite3"},
        {"svg", "image/svg+xml"},
        {"tar", "application/x-tar"},
        {"tex", "application/x-tex"},
        {"tif", "image/tiff"},
        {"tiff", "image/tiff"},
        {"toml", "application/toml"},
        {"tsv", "text/tab-separated-values"},
        {"txt", "text/plain"},
        {"wav", "audio/wav"},
        {"webp", "image/webp"},
        {"xls", "application/vnd.ms-excel"},
        {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
        {"xml", "application/xml"},
        {"yaml", "application/yaml"},
        {"yml", "application/yaml"},
        {"zip", "application/zip"},
};

const char *media_type_of(const char *name, size_t length) {
        const char *slash = memrchr(name, '/', length);
        const char *base = slash ? slash + 1 : name, *end = name + length;
        const char *dot = memrchr(base, '.', (size_t)(end - base));
        if (dot && dot > base)
                for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                        size_t ending = strlen(table[i].ending);
                        if ((size_t)(end - dot - 1) == ending && strncasecmp(dot + 1, table[i].ending, ending) == 0)
                                return table[i].type;
                }
        return "application/octet-stream";
}
