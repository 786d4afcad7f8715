import * as z from 'zod'

const EXAMPLE = 'postgres://shoal@db.example/shoal'

/** True when the address passes, or is none, which its own schema says. */
const passes =
  (check: (url: URL) => boolean) =>
  ({ url }: { url?: string | undefined }): boolean =>
    url === undefined || !URL.canParse(url) || check(new URL(url))

const hasOnlySocket = ({ searchParams }: URL): boolean =>
  [...searchParams].every(([name, value]) => name === 'host' && value.startsWith('/'))

/** Place of the store; see docs/scale.md. */
export const StoreSettings = z
  .strictObject({
    url: z
      .url({ protocol: /^postgres(ql)?$/, error: `must be an address such as ${EXAMPLE}` })
      .meta({ examples: [EXAMPLE] })
      .optional()
      .describe(
        'PostgreSQL database, 15 or later: postgres://user@host/name, or postgres://user@localhost/name?host=/run/postgresql. Of several hosts with commas, the one that accepts writes is used. By default the store is SQLite in state_dir.',
      ),
    password_file: z
      .string()
      .optional()
      .describe('File with the password of the database; by default PGPASSWORD or ~/.pgpass.'),
    ca_file: z
      .string()
      .optional()
      .describe('Certificate authority of the database, PEM; by default those of the system.'),
    prepared: z
      .boolean()
      .optional()
      .describe(
        'False for a pooler without prepared statements, such as PgBouncer before 1.21. True by default.',
      ),
  })
  .refine(
    passes(url => url.pathname.length > 1),
    {
      path: ['url'],
      error: 'the address must name the database: postgres://user@host/name',
    },
  )
  .refine(
    passes(url => url.password === ''),
    {
      path: ['url'],
      error: 'an address is shown in logs: put the password in store.password_file or PGPASSWORD',
    },
  )
  .refine(passes(hasOnlySocket), {
    path: ['url'],
    error: 'only ?host=/folder may follow the name; TLS is always used for another machine',
  })
export type StoreSettings = z.output<typeof StoreSettings>
