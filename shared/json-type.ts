/**
 * Content types of JSON bodies. JSON is UTF-8 (RFC 8259, section 8.1): a body in another `charset`
 * would be misread, and is refused with 415.
 */
export const JSON_TYPE =
  /^application\/(?:[\w.+-]+\+)?json\s*(?:$|;(?!(?:.*;)?\s*charset\s*=(?!\s*"?utf-?8"?\s*(?:;|$))))/i
