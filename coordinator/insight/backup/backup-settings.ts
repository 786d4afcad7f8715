import { Cron } from 'croner'
import * as z from 'zod'
import { AgeRecipient } from './seal.ts'

/** Backups that the coordinator makes itself. */
export const BackupSettings = z
  .strictObject({
    folder: z
      .string()
      .min(1)
      .optional()
      .describe('Folder for backups; `backups` in the state folder by default.'),
    schedule: z
      .string()
      .refine(isCron, { error: 'must be a cron expression such as 0 3 * * *' })
      .optional()
      .describe('Cron expression (UTC) for scheduled backups; omit it to schedule none.'),
    keep: z
      .int()
      .min(1)
      .max(1000)
      .default(14)
      .describe(
        'Backups to keep in the folder; each scheduled backup deletes the oldest ones beyond.',
      ),
    passphrase_file: z
      .string()
      .optional()
      .describe('File with the passphrase that seals the secrets of backups.'),
    recipients: z
      .array(AgeRecipient)
      .max(16)
      .default([])
      .describe('Public keys of age that seal the secrets of backups in place of a passphrase.'),
  })
  .refine(
    ({ schedule, passphrase_file, recipients }) =>
      schedule === undefined || passphrase_file !== undefined || recipients.length > 0,
    {
      path: ['passphrase_file'],
      error: 'a scheduled backup needs the file with its passphrase, or recipients',
    },
  )
export type BackupSettings = z.output<typeof BackupSettings>

function isCron(text: string): boolean {
  try {
    return new Cron(text, { paused: true, timezone: 'UTC' }).nextRun() !== null
  } catch {
    return false
  }
}
