import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { BACKUP_STATES, judgeBackups } from '../../reports/backup-standing.ts'
import { DATABASES, DUMP_FILE } from '../backup-catalogue.ts'
import type { BackupViews } from '../open.ts'

const BackupView = z.object({
  name: z.string(),
  created_at: z.iso.datetime(),
  age_seconds: z.int(),
  /** Version of the coordinator that made it. */
  version: z.string(),
  store: z.enum(['sqlite', 'postgresql']),
  files: z.int(),
  total_bytes: z.int(),
  /** Result of the last test restore; null before the first. */
  verified: z
    .object({ at: z.iso.datetime(), ok: z.boolean(), reason: z.string().nullable() })
    .nullable(),
})

export default defineSkill({
  id: 'backup-status',
  group: 'operations',
  name: 'Backup status',
  description: 'Show the backups of this coordinator, their age, and their last verification.',
  tags: ['operations', 'backup'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    state: z.enum(BACKUP_STATES).describe('State of the newest backup; overdue from 26 hours on.'),
    remedy: z.string().nullable(),
    schedule: z.string().nullable().describe('Cron expression, UTC; null without a schedule.'),
    includes_database: z
      .boolean()
      .describe('True when the newest backup holds the database beside the secrets.'),
    unreadable: z.array(z.string()).describe('Folders whose manifest is missing or damaged.'),
    backups: z.array(BackupView).describe('Newest first.'),
  }),
  run: async (_input, { backups, now }: Context & BackupViews) => {
    const listed = await backups.list()
    const { state, remedy } = judgeBackups(listed, now())
    return {
      data_state: dataState(listed.length),
      state,
      remedy: remedy ?? null,
      schedule: backups.settings.schedule ?? null,
      includes_database: listed[0]?.manifest?.files.some(({ name }) => isDatabase(name)) ?? false,
      unreadable: listed.flatMap(({ name, manifest }) => (manifest === undefined ? [name] : [])),
      backups: listed.flatMap(({ name, manifest, verified }) =>
        manifest === undefined
          ? []
          : [
              {
                name,
                created_at: iso(manifest.created_at),
                age_seconds: Math.max(0, Math.round((now() - manifest.created_at) / 1000)),
                version: manifest.version,
                store: manifest.store,
                files: manifest.files.length,
                total_bytes: manifest.files.reduce((all, { bytes }) => all + bytes, 0),
                verified: verified === undefined ? null : { ...verified, at: iso(verified.at) },
              },
            ],
      ),
    }
  },
})

const isDatabase = (name: string): boolean => name === DUMP_FILE || name === DATABASES[0]
