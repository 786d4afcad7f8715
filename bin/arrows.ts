import { resolve } from 'node:path'
import { AREAS, ROOT } from './arrows/table.ts'
import { judgeImport, listImports, placeOf } from './arrows/walk.ts'

/** Prints how many imports lead from each area of the coordinator to each, and those refused. */
const imports = listImports(resolve(import.meta.dirname, '..'))
for (const area of [...AREAS, ...ROOT]) {
  const own = imports.filter(each => placeOf(each.file) === area)
  const counts = Map.groupBy(own, each => placeOf(each.target))
  const others = [...counts].filter(([target]) => target !== undefined && target !== area)
  process.stdout.write(
    `${area.padEnd(12)}${others.map(([to, { length }]) => `${to} ${length}`).join(', ')}\n`,
  )
}
const refused = imports.flatMap(each => judgeImport(each) ?? [])
for (const line of refused) process.stdout.write(`${line}\n`)
process.exitCode = refused.length === 0 ? 0 : 1
