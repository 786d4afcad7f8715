import * as z from 'zod'
import { ReportedBody } from '../../../../shared/wire/desired.ts'
import type { ConfigDocument } from '../../control/config-store.ts'
import type { CellConfig } from '../../control/configs.ts'

const Document = z.record(z.string(), z.json())

export const ConfigView = z.object({
  scope: z.enum(['cell', 'tag', 'fleet']),
  name: z.string(),
  version: z.int(),
  document: Document,
  changed_at: z.iso.datetime(),
})

export const CellConfigView = z.object({
  cell_id: z.string(),
  /** Tags in the order in which their documents are merged; the cell's own document comes last. */
  tags: z.array(z.string()),
  sources: z.array(ConfigView),
  desired: z.object({
    version: z.int(),
    document: Document,
    withheld: z
      .array(z.object({ key: z.string(), level: z.int() }))
      .nullable()
      .describe(
        'Keys that the cell is not sent, since its daemon is too old, with the capability level that each needs; null until the cell has connected.',
      ),
  }),
  reported: ReportedBody.extend({ at: z.iso.datetime() }).nullable(),
  in_sync: z.boolean(),
})

export const configViewOf = (config: ConfigDocument): z.input<typeof ConfigView> => ({
  scope: config.scope,
  name: config.name,
  version: config.version,
  document: config.document as z.input<typeof Document>,
  changed_at: new Date(config.changedAt).toISOString(),
})

export const cellConfigViewOf = (
  cellId: string,
  { tags, sources, version, document, withheld, reported }: CellConfig,
): z.input<typeof CellConfigView> => ({
  cell_id: cellId,
  tags: [...tags],
  sources: sources.map(configViewOf),
  desired: { version, document: document as z.input<typeof Document>, withheld: withheld ?? null },
  reported: reported ? { ...reported, at: new Date(reported.at).toISOString() } : null,
  in_sync: reported?.state === 'applied' && reported.applied_version === version,
})
