extern "C" {
#include "core/base/err.h"
#include "core/base/escape.h"
#include "core/base/opt_table.h"
}
#include "core/base/config_toml.h"

#include <toml.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

constexpr std::size_t MAX_BINARY_DIGITS = 62; /* with which toml11 stays within 64 bits */

struct place {
    std::uint_least32_t line, column;
};

struct entry {
    std::string key;
    const toml::value *value;
    place where;
};

/* Thrown for what is not TOML, or is TOML that a configuration may not hold. */
struct refused : std::exception {
    dlb_code code;
    std::string text;
    std::uint_least32_t line;
    refused(dlb_code of_code, std::string what_text, std::uint_least32_t at_line)
        : code(of_code), text(std::move(what_text)), line(at_line)
    {
    }
    const char *what() const noexcept override
    {
        return text.c_str();
    }
};

/* The bytes before toml11 sees them: it recurses for every bracket and every dot of a key, so a
 * hostile file could overflow the stack. Strings of several lines are refused, because no option
 * needs one and because without them the end of a string is certain. */
class prescan
{
    const char *text;
    std::size_t n_bytes, at = 0;
    std::uint_least32_t line = 1;
    unsigned depth = 0, n_dots = 0, n_items = 0;
    bool starts_line = true; /* only blanks so far */

    char peek(std::size_t ahead) const
    {
        return at + ahead < n_bytes ? text[at + ahead] : '\0';
    }

    /* TOML allows neither, and toml11 3.7 reads out of bounds when it steps back over them. */
    void check_characters()
    {
        for (at = 0; at < n_bytes; at++) {
            const auto c = static_cast<unsigned char>(text[at]);
            if (c == '\n')
                line++;
            if (c >= 0x80) {
                const std::size_t n = dlb_utf8_bytes(text + at, n_bytes - at);
                if (n == 0)
                    throw refused(DLB_ERR_CONFIG_NOT_TOML, "is not UTF-8", line);
                at += n - 1;
            } else if ((c < 0x20 && c != '\t' && c != '\n' && !(c == '\r' && peek(1) == '\n')) ||
                       c == 0x7f) {
                throw refused(DLB_ERR_CONFIG_NOT_TOML,
                              c == '\0' ? "holds a zero byte: this is not a text file"
                                        : "holds a control character",
                              line);
            }
        }
        at = 0;
        line = 1;
    }

    std::size_t end_of_line() const
    {
        return static_cast<std::size_t>(std::find(text + at, text + n_bytes, '\n') - text);
    }

    /* What stands before the "=" of this line, as it is written. */
    std::string key_here() const
    {
        const std::string before(text, at);
        const auto start = before.rfind('\n') + 1; /* 0 where there is none */
        std::string key = before.substr(start, before.find('=', start) - start);
        key.erase(std::min(key.find_last_not_of(" \t") + 1, std::size_t{60}));
        return key.empty() ? "a list" : key;
    }

    /* toml11 3.7 takes the last element of a list that a header or a dotted key enters, and crashes
     * where there is none. No option takes a list of tables, or an empty list. */
    void check_lists()
    {
        std::size_t next = at + 1;
        bool comment = false;
        for (; next < n_bytes; next++) {
            const char c = text[next];
            comment = c == '#' || (comment && c != '\n');
            if (!comment && c != ' ' && c != '\t' && c != '\r' && c != '\n')
                break;
        }
        const bool header = starts_line && depth == 0;
        if (!header && next < n_bytes && text[next] == ']')
            throw refused(DLB_ERR_CONFIG_BAD_AXIS,
                          key_here() + ": the list is empty; a list holds at least one value",
                          line);
        if (header && peek(2) != '[' && next < n_bytes && next == at + 1 && text[next] == '[')
            throw refused(DLB_ERR_CONFIG_UNSUPPORTED_TOML,
                          std::string(text + at, std::min(n_bytes - at, std::size_t{60}))
                                  .substr(0, end_of_line() - at) +
                              ": lists of tables are not supported",
                          line);
    }

    /* toml11 3.7 doubles a factor for each digit, beyond 64 bits too, and so loses the digits that
     * are in front. */
    void check_binary()
    {
        const bool begins = at == 0 || !(std::isalnum(static_cast<unsigned char>(text[at - 1])) ||
                                         text[at - 1] == '_' || text[at - 1] == '-');
        std::size_t n_digits = 0, next = at + 2;
        for (; next < n_bytes && (text[next] == '0' || text[next] == '1' || text[next] == '_');
             next++)
            n_digits += text[next] != '_';
        if (begins && n_digits > MAX_BINARY_DIGITS)
            throw refused(DLB_ERR_CONFIG_OUT_OF_RANGE,
                          key_here() + ": a binary number has more than " +
                              std::to_string(MAX_BINARY_DIGITS) + " digits",
                          line);
    }

    void skip_comment()
    {
        while (at < n_bytes && text[at] != '\n')
            at++;
    }

    void skip_string(char quote)
    {
        if (peek(1) == quote && peek(2) == quote)
            throw refused(DLB_ERR_CONFIG_UNSUPPORTED_TOML,
                          "strings of several lines are not supported", line);
        for (at++; at < n_bytes && text[at] != '\n'; at++) {
            if (text[at] == '\\' && quote == '"')
                at++;
            else if (text[at] == quote)
                return;
        }
        throw refused(DLB_ERR_CONFIG_NOT_TOML, "a string does not end on its line", line);
    }

    void count(char c)
    {
        if (c == '[' || c == '{')
            depth++;
        else if ((c == ']' || c == '}') && depth > 0)
            depth--;
        if (c == '.')
            n_dots++;
        else if (c == '=' || c == ',' || c == '\n' || c == '[' || c == '{')
            n_dots = 0;
        if (c == '=' || c == ',' || c == '[' || c == '{')
            n_items++;
        if (n_items > DLB_TOML_MAX_ITEMS)
            throw refused(DLB_ERR_CONFIG_TOO_LARGE,
                          "holds more than " + std::to_string(DLB_TOML_MAX_ITEMS) +
                              " values: this is not a configuration",
                          line);
        if (depth > DLB_TOML_MAX_DEPTH || n_dots > DLB_TOML_MAX_DEPTH)
            throw refused(DLB_ERR_CONFIG_TOO_LARGE,
                          "nested deeper than " + std::to_string(DLB_TOML_MAX_DEPTH) + " levels",
                          line);
    }

  public:
    prescan(const char *bytes, std::size_t n) : text(bytes), n_bytes(n)
    {
    }

    void run()
    {
        check_characters();
        if (std::string(text, std::min(n_bytes, std::size_t{3})) == "\xef\xbb\xbf")
            at = 3; /* toml11 skips a byte order mark, so a header may follow it */
        for (; at < n_bytes; at++) {
            char c = text[at];
            if (c == '#')
                skip_comment();
            else if (c == '"' || c == '\'')
                skip_string(c);
            if (at >= n_bytes)
                break;
            if (text[at] == '[')
                check_lists();
            if (text[at] == '0' && peek(1) == 'b')
                check_binary();
            count(text[at]);
            if (text[at] == '\n')
                line++;
            starts_line =
                text[at] == '\n' || (starts_line && (text[at] == ' ' || text[at] == '\t'));
        }
    }
};

void flatten(const toml::value &value, const std::string &key, place where,
             std::vector<entry> &entries)
{
    if (!value.is_table()) {
        entries.push_back({key, &value, where});
        return;
    }
    for (const auto &child : value.as_table()) {
        const auto location = child.second.location();
        flatten(child.second, key.empty() ? child.first : key + "." + child.first,
                {location.line(), location.column()}, entries);
    }
}

json_t *checked(json_t *made)
{
    if (!made)
        throw std::bad_alloc();
    return made;
}

json_t *text_to_json(const std::string &text, place where)
{
    json_t *made = json_stringn(text.data(), text.size());
    if (!made)
        throw refused(DLB_ERR_CONFIG_NOT_TOML, "text that is not valid UTF-8", where.line);
    return made;
}

/* As it stands in the text. */
std::string source_of(const toml::value &value)
{
    const auto at = value.location();
    const std::string text = at.line_str();
    return at.column() <= text.size() ? text.substr(at.column() - 1, at.region()) : "";
}

/* toml11 3.7 turns what is beyond a double into the largest one. */
bool is_beyond(const std::string &said)
{
    std::string digits = said;
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    return std::isinf(std::strtod(digits.c_str(), nullptr));
}

json_t *float_to_json(const toml::value &value, const entry &in)
{
    const double number = value.as_floating();
    const std::string said = source_of(value), is = in.key + " = " + said.substr(0, 60);
    if (!std::isfinite(number))
        throw refused(DLB_ERR_CONFIG_OUT_OF_RANGE,
                      is + " is not a finite number: if it is text, put it in quotes",
                      in.where.line);
    if (std::abs(number) == std::numeric_limits<double>::max() && is_beyond(said))
        throw refused(DLB_ERR_CONFIG_OUT_OF_RANGE,
                      is + " is a number beyond " DLB_OPT_LARGEST_FLOAT
                           ": if it is text, put it in quotes",
                      in.where.line);
    return checked(json_real(number));
}

json_t *scalar_to_json(const toml::value &value, const entry &in)
{
    switch (value.type()) {
    case toml::value_t::boolean:
        return checked(json_boolean(value.as_boolean()));
    case toml::value_t::integer:
        /* toml11 3.7 turns what does not fit into the nearest number that does. */
        if (value.as_integer() == std::numeric_limits<std::int64_t>::max() ||
            value.as_integer() == std::numeric_limits<std::int64_t>::min())
            throw refused(
                DLB_ERR_CONFIG_OUT_OF_RANGE,
                in.key +
                    " is a number at the limits of 64 bits or beyond: if it is text, put it in "
                    "quotes",
                in.where.line);
        return checked(json_integer(value.as_integer()));
    case toml::value_t::floating:
        return float_to_json(value, in);
    case toml::value_t::string:
        return text_to_json(value.as_string().str, in.where);
    case toml::value_t::array:
    case toml::value_t::table:
        throw refused(DLB_ERR_CONFIG_UNSUPPORTED_TOML,
                      in.key + ": lists hold plain values, not lists or tables", in.where.line);
    default:
        throw refused(DLB_ERR_CONFIG_UNSUPPORTED_TOML,
                      in.key + ": dates and times are not supported", in.where.line);
    }
}

json_t *to_json(const entry &in)
{
    if (!in.value->is_array())
        return scalar_to_json(*in.value, in);
    json_t *list = checked(json_array());
    try {
        for (const auto &element : in.value->as_array())
            if (json_array_append_new(list, scalar_to_json(element, in)) != 0)
                throw std::bad_alloc();
    } catch (...) {
        json_decref(list);
        throw;
    }
    return list;
}

void append(json_t *out, const entry &in)
{
    json_t *object = checked(json_object());
    if (json_array_append_new(out, object) != 0)
        throw std::bad_alloc();
    if (json_object_set_new(object, "key", text_to_json(in.key, in.where)) != 0 ||
        json_object_set_new(object, "value", to_json(in)) != 0 ||
        json_object_set_new(object, "line", json_integer(in.where.line)) != 0)
        throw std::bad_alloc();
}

void collect(const toml::value &root, json_t *out)
{
    std::vector<entry> entries;
    std::unordered_map<std::string, std::uint_least32_t> lines;

    flatten(root, "", {1, 1}, entries);
    std::sort(entries.begin(), entries.end(), [](const entry &a, const entry &b) {
        return a.where.line != b.where.line ? a.where.line < b.where.line
                                            : a.where.column < b.where.column;
    });
    for (const auto &in : entries) {
        const auto first = lines.emplace(in.key, in.where.line);
        if (!first.second) /* toml11 sees a.b twice, but not "a.b" beside a.b */
            throw refused(DLB_ERR_CONFIG_NOT_TOML,
                          in.key + " was set before, on line " +
                              std::to_string(first.first->second),
                          in.where.line);
        append(out, in);
    }
}

/* toml11's text is a picture of several lines; its first line says what is wrong. */
std::string first_line(std::string text)
{
    const auto strip = [&text](const std::string &head) {
        if (text.compare(0, head.size(), head) == 0)
            text.erase(0, head.size());
    };
    text = text.substr(0, text.find('\n'));
    strip("[error] ");
    if (text.compare(0, 6, "toml::") == 0) {
        const auto colon = text.find(": ");
        if (colon != std::string::npos)
            text.erase(0, colon + 2);
    }
    return text;
}

int fail_at(struct dlb_err *err, dlb_code code, const char *path, std::uint_least32_t line,
            const std::string &what)
{
    const std::string where = std::string(path) + ":" + std::to_string(line);
    return dlb_fail(err, code, where.c_str(), DLB_NO_OFFSET, "%s", what.c_str());
}

} // namespace

extern "C" int dlb_toml_parse(const char *text, size_t n_bytes, const char *path, json_t **out,
                              struct dlb_err *err)
{
    json_t *list = nullptr;

    *out = nullptr;
    if (n_bytes > DLB_TOML_MAX_BYTES)
        return dlb_fail(err, DLB_ERR_CONFIG_TOO_LARGE, path, DLB_NO_OFFSET,
                        "is larger than %d bytes: this is not a configuration", DLB_TOML_MAX_BYTES);
    try {
        prescan(text, n_bytes).run();
        std::istringstream stream(std::string(text, n_bytes));
        const toml::value root = toml::parse(stream, path);
        list = checked(json_array());
        collect(root, list);
        *out = list;
        return DLB_OK;
    } catch (const refused &why) {
        (void)fail_at(err, why.code, path, why.line, why.text);
    } catch (const toml::exception &why) {
        (void)fail_at(err, DLB_ERR_CONFIG_NOT_TOML, path, why.location().line(),
                      "not TOML: " + first_line(why.what()));
    } catch (const std::bad_alloc &) {
        (void)dlb_fail(err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "out of memory");
    } catch (const std::exception &why) {
        (void)dlb_fail(err, DLB_ERR_CONFIG_NOT_TOML, path, DLB_NO_OFFSET, "not TOML: %s",
                       first_line(why.what()).c_str());
    } catch (...) {
        (void)dlb_fail(err, DLB_ERR_CONFIG_NOT_TOML, path, DLB_NO_OFFSET, "not TOML");
    }
    json_decref(list);
    return (int)err->status;
}
