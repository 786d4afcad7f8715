/** Reason for an empty answer of probes that read the firmware table (DMI). */
export const NO_DMI_TABLE =
  'neither the kernel (/sys/class/dmi/id) nor dmidecode tells it to the daemon'

/**
 * True for a value without text, number or true at any depth. Zero is content: it may be measured.
 */
export const isEmpty = (value: unknown): boolean => {
  if (value === null || value === undefined || value === '' || value === false || value === '-')
    return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}
