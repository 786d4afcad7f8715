/** Unit of a number in the answer of a probe. */
export type SizeUnit = 'bytes' | 'bytes/s' | 'KiB' | 'MiB'

/** Units by field name. */
export type SizeUnits = Readonly<Record<string, SizeUnit>>

/** Assigns one unit to several fields. */
export const sizes = (unit: SizeUnit, ...fields: string[]): SizeUnits =>
  Object.fromEntries(fields.map(field => [field, unit]))

export const CACHE_SIZES = sizes('bytes', 'l1d', 'l1i', 'l2', 'l3')
