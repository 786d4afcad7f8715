import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type UnpackedTree, unpackTree } from './unpack-tree.ts'

/** Name of the migration that the newer version has and this one does not know. */
export const NEWER_MIGRATION = '9999_newer_version'

/** Extends tables that requests read and write, and adds one. */
const MIGRATION = `
  '${NEWER_MIGRATION}': {
    up: async ({ schema }) => {
      for (const table of ['keys', 'quotas', 'conversations', 'replicas', 'audit'])
        await schema.alterTable(table).addColumn('newer', 'text').execute()
      await schema
        .createTable('newer')
        .addColumn('id', 'text', column => column.primaryKey().notNull())
        .execute()
    },
    compatibleFrom: '0.1.0',
  },
})
`

/** The last commit and one more migration of the ledger, which extends the schema. */
export const unpackNewer = (): UnpackedTree => {
  const tree = unpackTree('HEAD')
  const file = join(tree.folder, 'coordinator', 'kernel', 'store', 'migrations.ts')
  const text = readFileSync(file, 'utf8')
  const end = text.lastIndexOf('})')
  writeFileSync(file, `${text.slice(0, end)}${MIGRATION.trimStart()}`)
  return { ...tree, name: `${tree.name} and ${NEWER_MIGRATION}` }
}
