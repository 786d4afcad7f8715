/** Reason for probes that read the table of the firmware (DMI), when it is closed to them. */
export const NO_DMI_TABLE =
  'neither the kernel (/sys/class/dmi/id) nor dmidecode tells it to the daemon'

/** No text, no number, no true, however deep. Zero is content: it may be measured. */
export const isEmpty = (value: unknown): boolean => {
  if (value === null || value === undefined || value === '' || value === false || value === '-')
    return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}
