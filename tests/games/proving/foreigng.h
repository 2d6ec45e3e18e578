! The entry points that a story may have, after the verbs of its language.
Stub AfterLife 0; Stub AfterPrompt 0; Stub AfterRestore 0; Stub AfterSave 0; Stub Amusing 0; Stub BeforeParsing 0;
Stub ChooseObjects 2; Stub DarkToDark 0; Stub DeathMessage 0; Stub Epilogue 0; Stub GamePostRoutine 0; Stub GamePreRoutine 0;
Stub InScope 1; Stub LookRoutine 0; Stub NewRoom 0; Stub ObjectDoesNotFit 2; Stub ParseNumber 2;
Stub ParserError 1; Stub PrintRank 0; Stub PrintVerb 1; Stub TimePasses 0; Stub UnknownVerb 1;
[ ParseNoun; return -1; ];
