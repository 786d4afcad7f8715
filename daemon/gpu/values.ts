/**
 * A number printed by a driver's tool. `[N/A]`, `[Not Supported]`, `ERR!` and other text are
 * unknown: null. 0 is 0.
 */
export const quantity = (text: string | undefined): number | null => {
  if (text === undefined || !/^-?\d+(\.\d+)?$/.test(text.trim())) return null
  return Number(text)
}

/** A `quantity` from 0 to 100; null outside that range. */
export const percent = (text: string | undefined): number | null => {
  const value = quantity(text)
  return value !== null && value >= 0 && value <= 100 ? value : null
}

/** A `quantity` in bytes, given in units of `unitBytes`; null when negative. */
export const bytes = (text: string | undefined, unitBytes: number): number | null => {
  const value = quantity(text)
  return value !== null && value >= 0 ? Math.round(value * unitBytes) : null
}

export const MIB = 1024 * 1024
