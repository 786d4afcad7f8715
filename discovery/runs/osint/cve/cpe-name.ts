/** Parts of a formatted string of CPE 2.3 that are used (NIST IR 7695, 6.2). */
export interface CpeName {
  /** `a` application, `o` operating system, `h` hardware. */
  part: string
  vendor: string
  product: string
  version: string
  update: string
}

/** Undefined for text of another form. A colon within a part is escaped. */
export const parseCpe = (text: string): CpeName | undefined => {
  const parts = text.split(/(?<!\\):/).map(part => part.replaceAll(/\\(.)/g, '$1').slice(0, 128))
  const [scheme, form, part, vendor, product, version = '*', update = '*'] = parts
  if (scheme !== 'cpe' || form !== '2.3' || part === undefined) return undefined
  if (vendor === undefined || product === undefined) return undefined
  return { part, vendor, product, version, update }
}

/** Escapes a part: everything but letters, digits, `_`, `-` and `.`. */
export const escapeCpe = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(' ', '_')
    .replaceAll(/[^a-z0-9_.-]/g, character => `\\${character}`)
