/** Organisation of a distinguished name, `C=US, O="Let's Encrypt, Inc.", CN=R11` (RFC 4514); null without. */
export const readOrganisation = (name: string): string | null => {
  const [, quoted, plain] = /(?:^|,)\s*O=(?:"([^"]*)"|((?:\\.|[^,\\])*))/.exec(name) ?? []
  const text = quoted ?? plain?.replaceAll(/\\(.)/g, '$1')
  return text === undefined ? null : text.trim().slice(0, 256)
}
