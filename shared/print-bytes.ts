const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** Formats bytes for people: `5.1 GiB`. */
export const printBytes = (bytes: number): string => {
  const step = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  return step === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** step).toFixed(1)} ${UNITS[step]}`
}
