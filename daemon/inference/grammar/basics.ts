import type { StringFormat } from './node.ts'

/**
 * Rules that others use by name. White space is bounded, because small models otherwise write
 * nothing else. Numbers have at most 15 digits before the point, so that JavaScript holds integers
 * exactly. JSON: RFC 8259.
 */
export const BASICS = {
  ws: '"" | " " | "\\n" [ ]{0,16}',
  char: String.raw`[^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})`,
  string: String.raw`"\"" char* "\""`,
  whole: '"0" | [1-9] [0-9]{0,14}',
  integer: '"-"? whole',
  tail: '("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?',
  number: '"-"? whole tail',
  'least-number': 'whole tail',
  any: 'string | number | object | array | "true" | "false" | "null"',
  object: '"{" ws (member ("," ws member)* ws)? "}"',
  member: 'string ":" ws any',
  array: '"[" ws (any ("," ws any)* ws)? "]"',
  // RFC 3339, with the days that each month has
  year: '[0-9]{4}',
  leap: '[0-9]{2} ("0" [48] | [2468] [048] | [13579] [26]) | ([02468] [048] | [13579] [26]) "00"',
  day28: '"0" [1-9] | "1" [0-9] | "2" [0-8]',
  day30: 'day28 | "29" | "30"',
  long: '"0" [13578] | "10" | "12"',
  short: '"0" [469] | "11"',
  'month-day': 'long "-" (day30 | "31") | short "-" day30 | "02-" day28',
  'full-date': 'year "-" month-day | leap "-02-29"',
  clock: '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]',
  'full-time': 'clock ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] clock)',
  date: String.raw`"\"" full-date "\""`,
  time: String.raw`"\"" full-time "\""`,
  'date-time': String.raw`"\"" full-date "T" full-time "\""`,
  hex4: '[0-9a-f]{4}',
  uuid: String.raw`"\"" hex4 hex4 "-" hex4 "-" [1-8] [0-9a-f]{3} "-" [89ab] [0-9a-f]{3} "-" hex4 hex4 hex4 "\""`,
} as const satisfies Record<string, string> & Record<StringFormat, string>
