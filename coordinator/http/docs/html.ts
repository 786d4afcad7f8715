const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as it may stand in HTML, in an attribute too. */
export const html = (text: string): string =>
  text.replaceAll(/[&<>"']/g, found => ENTITIES[found] ?? found)

export const code = (text: string): string => `<code>${html(text)}</code>`
