/** Reason for an empty answer of probes that read the firmware table (DMI). */
export const NO_DMI_TABLE =
  'the daemon can read neither /sys/class/dmi/id nor the output of dmidecode'

/**
 * True for a value without text, number or true at any depth. Zero is content: it may be measured.
 */
export const isEmpty = (value: unknown): boolean => {
  if (value === null || value === undefined || value === '' || value === false || value === '-')
    return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}
