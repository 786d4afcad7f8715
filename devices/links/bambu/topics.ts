/** Topic of what the printer reports. */
export const reportTopicOf = (serial: string): string => `device/${serial}/report`

/** Topic of what is asked of the printer. */
export const requestTopicOf = (serial: string): string => `device/${serial}/request`
