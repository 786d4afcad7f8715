const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as it may stand in HTML or XML, in a quoted attribute too. */
export const escapeMarkup = (text: string): string =>
  text.replaceAll(/[&<>"']/g, found => ENTITIES[found] ?? found)
