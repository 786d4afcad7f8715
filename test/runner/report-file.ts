import type { FileResult } from './run-file.ts'

export interface FileReport {
  lines: string[]
  passed: number
  failed: number
}

/** End of a titled test: an assertion has no time. */
const TITLED = /^\s*(ok|not ok) \d+ - .* # time=/
const SKIPPED_OR_TODO = /# (skip|todo)/i

/**
 * Reports failures with their diagnosis, skipped and unfinished tests, and the count of titled tests.
 * A failed file counts too: it may have crashed, timed out or failed outside its tests.
 */
export const reportFile = (result: FileResult): FileReport => {
  const { file, isPassed, ending, milliseconds, cpuMs } = result
  const report: FileReport = { lines: [], passed: 0, failed: isPassed ? 0 : 1 }
  let isDiagnosis = false
  for (const line of result.lines) {
    isDiagnosis = /^\s*not ok/.test(line) || (isDiagnosis && !/^\s*ok \d+/.test(line))
    if (isDiagnosis || SKIPPED_OR_TODO.test(line)) report.lines.push(`    ${line}`)
    const outcome = TITLED.exec(line)?.[1]
    if (outcome !== undefined) report[outcome === 'ok' ? 'passed' : 'failed']++
  }
  const time = `# time=${Math.round(milliseconds)}ms cpu=${cpuMs}ms`
  if (isPassed) report.lines.push(`ok - ${file} ${time}`)
  else report.lines.push(`    the file ${ending}`, `not ok - ${file} ${time}`)
  return report
}
