import { errorBody, type ShoalError } from '../errors.ts'

/** One server-sent event with data only; the value must hold no line break outside JSON. */
export const sseData = (value: string): string => `data: ${value}\n\n`

/** How a stream that broke tells why; OpenAI's clients raise it with its code. No [DONE] follows. */
export const sseError = (error: ShoalError): string => sseData(JSON.stringify(errorBody(error)))
