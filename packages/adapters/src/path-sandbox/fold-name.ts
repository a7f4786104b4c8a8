const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;
const PLAIN = /^[\u0020-\u007e]*$/;

/**
 * One spelling for all that some file system takes for the same name: composed or not, upper or lower case (`.ßh` is
 * `.ssh` to some), with characters that are skipped in names left out. Two names that fold alike need not be the same
 * file: use it to deny, or together with a proof.
 */
export function foldName(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return text.replaceAll(UNSEEN, "").normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}
