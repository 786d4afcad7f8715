import * as z from 'zod'

export const CommandsConfig = z.strictObject({
  urgent_answer_seconds: z
    .number()
    .min(0.1)
    .max(30)
    .default(5)
    .describe(
      'Longest wait of `stop`, `hold` and `land` for their outcome; after it they answer `unconfirmed` and go on.',
    ),
})
export type CommandsConfig = z.output<typeof CommandsConfig>
