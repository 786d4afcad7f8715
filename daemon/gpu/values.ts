/**
 * A number as a driver's tool prints it. `[N/A]`, `[Not Supported]`, `ERR!` and whatever else is no
 * number are unknown: null. 0 is 0.
 */
export const quantity = (text: string | undefined): number | null => {
  if (text === undefined || !/^-?\d+(\.\d+)?$/.test(text.trim())) return null
  return Number(text)
}

/** As `quantity`, and unknown outside 0 to 100. */
export const percent = (text: string | undefined): number | null => {
  const value = quantity(text)
  return value !== null && value >= 0 && value <= 100 ? value : null
}

/** As `quantity`, times the bytes of its unit; unknown when negative. */
export const bytes = (text: string | undefined, unitBytes: number): number | null => {
  const value = quantity(text)
  return value !== null && value >= 0 ? Math.round(value * unitBytes) : null
}

export const MIB = 1024 * 1024
