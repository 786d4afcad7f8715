import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `npm run prove -- <name> [flags]`: a long run of something that the suite does in a small size.
 * Ends with code 1 when it does not hold.
 */
const [name = '', ...flags] = process.argv.slice(2)
const names = readdirSync(import.meta.dirname)
  .filter(file => file.endsWith('.ts') && file !== 'run.ts')
  .map(file => file.slice(0, -3))

if (!names.includes(name)) {
  console.log(`usage: npm run prove -- <name> [flags]\nnames: ${names.join(', ')}`)
  process.exit(64)
}
const { main } = (await import(join(import.meta.dirname, `${name}.ts`))) as {
  main: (argv: string[]) => Promise<boolean>
}
process.exit((await main(flags)) ? 0 : 1)
