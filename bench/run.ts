import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** `npm run bench -- <name> [flags]`: runs `bench/<name>.ts`, which prints what it measured. */
const [name = '', ...flags] = process.argv.slice(2)
const names = readdirSync(import.meta.dirname)
  .filter(file => file.endsWith('.ts') && file !== 'run.ts' && file !== 'measure.ts')
  .map(file => file.slice(0, -3))

if (!names.includes(name)) {
  console.log(`usage: npm run bench -- <name> [flags]\nnames: ${names.join(', ')}`)
  process.exit(64)
}
const path = join(import.meta.dirname, `${name}.ts`)
const bench = (await import(path)) as { main?: (argv: string[]) => Promise<void> }
await bench.main?.(flags)
