import { escapeMarkup } from '../../../kernel/base/escape-markup.ts'

export { escapeMarkup as html }

export const code = (text: string): string => `<code>${escapeMarkup(text)}</code>`
