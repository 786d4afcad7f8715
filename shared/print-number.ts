const STEPS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/**
 * Formats a number for people: fractions have three digits, and bytes (names ending in `bytes` or
 * `bytes_per_second`) are in KiB and up. `--format json` keeps full precision.
 */
export const formatNumber = (name: string, value: number): string => {
  if (/(^|[._])bytes$/.test(name)) return formatBytes(value)
  if (/(^|[._])bytes_per_second$/.test(name)) return `${formatBytes(value)}/s`
  return roundNumber(value)
}

const roundNumber = (value: number): string =>
  Number.isInteger(value) || !Number.isFinite(value)
    ? String(value)
    : String(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)))

/** Formats bytes for people: `25.2 GiB`. */
export const formatBytes = (value: number): string => {
  const step = Math.min(STEPS.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10))
  return `${roundNumber(value / 1024 ** step)} ${STEPS[step]}`
}
