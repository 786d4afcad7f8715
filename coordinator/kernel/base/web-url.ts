import * as z from 'zod'

/** Setting for an address on the web, http or https. */
export const webUrl = z.url({ protocol: /^https?$/ }).optional()
