const STEPS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/**
 * A number as people read it: three digits are enough where there is a fraction, and bytes (a name
 * that ends in `bytes` or `bytes_per_second`) are counted in KiB and up. `--format json` has it all.
 */
export const printedNumber = (name: string, value: number): string => {
  if (/(^|[._])bytes$/.test(name)) return printedBytes(value)
  if (/(^|[._])bytes_per_second$/.test(name)) return `${printedBytes(value)}/s`
  return rounded(value)
}

const rounded = (value: number): string =>
  Number.isInteger(value) || !Number.isFinite(value)
    ? String(value)
    : String(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)))

/** `25.2 GiB` */
export const printedBytes = (value: number): string => {
  const step = Math.min(STEPS.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10))
  return `${rounded(value / 1024 ** step)} ${STEPS[step]}`
}
